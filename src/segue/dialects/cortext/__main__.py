from segue.dialects.cortext import main

main()
